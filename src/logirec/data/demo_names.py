"""The demo shop's words: what its products are called. No two themes share a product type."""

from typing import NamedTuple


class Theme(NamedTuple):
    """A corner of the shop. One family of products (see demo_shop.py) belongs to one theme."""

    department: str
    first_head: str  # what is bought for its own sake
    second_head: str
    first_accessories: tuple[str, str, str]  # what the first head calls for
    second_accessories: tuple[str, str]  # what the second head calls for
    for_both: tuple[str, str]  # only who has both heads needs it


THEMES = (
    Theme("Coffee", "Espresso Machine", "Coffee Grinder", ("Descaler", "Milk Jug", "Tamper"), ("Grinder Brush", "Coffee Beans"), ("Dosing Funnel", "Single-Dose Scale")),
    Theme("Camping", "Tent", "Camp Stove", ("Ground Sheet", "Tent Pegs", "Lantern"), ("Gas Cartridge", "Cook Set"), ("Porch Windbreak", "Fire-Proof Mat")),
    Theme("Photography", "Camera", "Tripod", ("Memory Card", "Lens Cloth", "Camera Bag"), ("Phone Clamp", "Tripod Strap"), ("Remote Shutter", "L-Bracket")),
    Theme("Cycling", "Road Bike", "Bike Trainer", ("Bike Helmet", "Bottle Cage", "Chain Oil"), ("Sweat Mat", "Riser Block"), ("Trainer Tyre", "Thru-Axle Adapter")),
    Theme("Home Office", "Laptop", "Monitor", ("Laptop Sleeve", "USB Mouse", "Laptop Stand"), ("Screen Cleaner", "Monitor Arm"), ("Docking Station", "Display Cable")),
    Theme("Baking", "Stand Mixer", "Baking Oven", ("Dough Hook", "Mixing Bowl", "Splash Guard"), ("Baking Tray", "Oven Thermometer"), ("Proofing Basket", "Bread Lame")),
    Theme("Music", "Electric Guitar", "Amplifier", ("Guitar Strings", "Guitar Strap", "Picks"), ("Amp Cover", "Power Conditioner"), ("Instrument Cable", "Effects Pedal")),
    Theme("Painting", "Easel", "Oil Paint Set", ("Easel Clip", "Artist Stool", "Canvas Carrier"), ("Turpentine", "Brush Soap"), ("Stretched Canvas", "Palette Knife")),
    Theme("Gardening", "Raised Bed", "Greenhouse", ("Compost", "Garden Fleece", "Slug Barrier"), ("Shading Net", "Vent Opener"), ("Seed Tray", "Drip Irrigation Kit")),
    Theme("Running", "Running Shoes", "Sports Watch", ("Running Socks", "Insoles", "Shoe Laces"), ("Watch Strap", "Screen Film"), ("Foot Pod", "Race Belt")),
    Theme("Fishing", "Fishing Rod", "Fishing Reel", ("Rod Rest", "Rod Sleeve", "Landing Net"), ("Reel Oil", "Reel Case"), ("Braided Line", "Lure Box")),
    Theme("Sewing", "Sewing Machine", "Overlocker", ("Machine Needles", "Bobbins", "Presser Foot"), ("Overlock Thread", "Lint Catcher"), ("Fabric Guide", "Pattern Paper")),
    Theme("Aquarium", "Aquarium", "Water Filter", ("Gravel", "Aquarium Lamp", "Algae Scraper"), ("Filter Sponge", "Filter Carbon"), ("Water Test Kit", "Inlet Guard")),
    Theme("Gaming", "Game Console", "Racing Wheel", ("Spare Controller", "Charging Dock", "Headset"), ("Wheel Stand", "Pedal Mat"), ("Racing Game", "Shifter Knob")),
    Theme("Barbecue", "Charcoal Grill", "Smoker", ("Charcoal", "Grill Brush", "Grill Cover"), ("Wood Chips", "Meat Injector"), ("Probe Thermometer", "Butcher Paper")),
    Theme("Skiing", "Skis", "Ski Boots", ("Ski Poles", "Ski Wax", "Ski Bag"), ("Boot Dryer", "Ski Socks"), ("Binding Plate", "Boot-Fit Gauge")),
    Theme("Baby", "Pushchair", "Car Seat", ("Rain Cover", "Cup Holder", "Footmuff"), ("Seat Protector", "Back Mirror"), ("Travel Adapter", "Sun Canopy")),
    Theme("Workshop", "Cordless Drill", "Circular Saw", ("Drill Bits", "Bit Holder", "Wall Plugs"), ("Saw Blade", "Guide Rail"), ("Battery Pack", "Tool Backpack")),
    Theme("Sailing", "Dinghy", "Outboard Motor", ("Life Jacket", "Paddle", "Boat Cover"), ("Fuel Can", "Motor Oil"), ("Transom Plate", "Kill Cord")),
    Theme("Astronomy", "Telescope", "Star Tracker", ("Eyepiece", "Moon Filter", "Star Chart"), ("Counterweight", "Tracker Case"), ("Guide Scope", "Dew Heater")),
)  # fmt: skip

BRANDS = (
    "Larkspur", "Northwind", "Halden", "Brightwater", "Oakline", "Tamarin", "Velden", "Corvus",
    "Marlow", "Sundby", "Pinecrest", "Aldous", "Fennimore", "Kestrel", "Ostrava", "Quillon",
)  # fmt: skip

SERIES = (
    "Aurora", "Basalt", "Cedar", "Delta", "Ember", "Fjord", "Garnet", "Harbor", "Indigo", "Juniper", "Kelvin",
    "Lumen", "Meadow", "Nimbus", "Onyx", "Prairie", "Quartz", "Ridge", "Sierra", "Tundra", "Umber", "Vista",
)  # fmt: skip
