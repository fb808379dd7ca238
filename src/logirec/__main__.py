from logirec.cli.main import main

main()
