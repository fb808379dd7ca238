"""Order lines -> clean baskets -> directed links, the way a shop's own "also bought" lists are made.

Left out by rule, and counted:
  cancelled     order id is C + digits while other orders are bare digits, or a status column says so
  return        quantity is zero or less
  no price      unit price is zero or less (samples, stock corrections)
  not a product postage, fees, discounts, vouchers and the like, by code or by description
  large order   more items than --max-basket

A link i -> j, with n orders in all, n_i and n_j that hold the item and n_ij that hold both, is kept when
  n_ij >= min_support;  n_ij * n > n_i * n_j (more often than chance);  LLR >= min_llr;
  P(j|i) = n_ij / n_i >= min_confidence;  and j is among the top_links of i by P(j|i).
Its weight is P(j|i). LLR is Dunning's log-likelihood ratio of the 2 x 2 table of the two items.
"""

from logirec.config import OrderRules
from logirec.data.rejects import FIRST, Rejects
from logirec.data.store import Store
from logirec.data.times import reading_of_time
from logirec.errors import InputError
from logirec.relation import Relation

SERVICE_CODES = (
    "POST",
    "DOT",
    "BANK CHARGES",
    "AMAZONFEE",
    "CRUK",
    "ADJUST",
    "ADJUST2",
    "TEST001",
    "TEST002",
)
SERVICE_TITLES = (
    r"(dotcom )?postage|carriage|shipping|delivery|manual|discount|samples|bank charges|amazon fee|\w+ commission"
    r"|adjust(ment)?|adjust bad debt|.*gift voucher.*|next day carriage"
)
# A query: with orders split by time, what comes later than this is not known.
LAST_TRAINING_TIME = "SELECT max(time) FROM orders JOIN order_stage USING (o) WHERE stage = 0"
CANCELLED_STATUS = ("cancelled", "canceled", "refunded", "returned", "void", "voided")


def _number(column: str) -> str:
    """2.55, 2,55, 1,234.50 and 1.234,50, with or without a sign of money."""
    plain = rf"regexp_replace({column}, '[\s$€£¥]', '', 'g')"
    return rf"""try_cast(CASE
      WHEN regexp_matches({plain}, ',.*[.,]') THEN replace({plain}, ',', '')
      WHEN regexp_matches({plain}, '\..*[.,]') THEN replace(replace({plain}, '.', ''), ',', '.')
      ELSE replace({plain}, ',', '.')
    END AS DOUBLE)"""


def clean_orders(store: Store, rules: OrderRules, rejects: Rejects, file: str, max_bad: float) -> None:
    """raw_orders -> orders (o, time, customer, size), o in time order, and order_items (o, item, place), an item
    once each, at the first place that it has in the order: as the lines say, or by the order of the lines."""
    has_time = bool(store.value("SELECT count(*) FROM raw_orders WHERE coalesce(time, '') <> ''"))
    time = reading_of_time(store, "raw_orders") if has_time else "NULL::TIMESTAMP"
    bare = store.value(r"""SELECT count(*) FROM raw_orders WHERE regexp_full_match("order", '\d+')""")
    cancelled = r"""regexp_full_match("order", '[Cc]\d+')""" if bare else "false"
    codes = ", ".join(f"'{code}'" for code in SERVICE_CODES)
    status = ", ".join(f"'{word}'" for word in CANCELLED_STATUS)
    quantity, price, place = map(_number, ("quantity", "price", "place"))
    store.run(
        f"""
        CREATE TABLE judged AS SELECT "order", item, line, {time} AS time, nullif(customer, '') AS customer,
          coalesce({place}, line) AS place,
          CASE
            WHEN coalesce(quantity, '') <> '' AND {quantity} IS NULL THEN 'bad quantity'
            WHEN coalesce(price, '') <> '' AND {price} IS NULL THEN 'bad price'
            WHEN coalesce(place, '') <> '' AND {place} IS NULL THEN 'bad place'
            WHEN {has_time} AND {time} IS NULL THEN 'bad time'
          END AS rejected,
          CASE
            WHEN {cancelled} OR lower(coalesce(status, '')) IN ({status}) THEN 'cancelled'
            WHEN upper(item) IN ({codes}) OR regexp_full_match(lower(coalesce(title, '')), '{SERVICE_TITLES}')
              THEN 'not a product'
            WHEN {quantity} <= 0 THEN 'return'
            WHEN {price} <= 0 THEN 'no price'
          END AS filtered
        FROM raw_orders
        """
    )
    bad = _tally(store, "rejected", "judged WHERE rejected IS NOT NULL")
    for reason, count, lines in bad:
        rejects.reject_all(file, reason, lines, count)
    unread = " and ".join(f"--columns {reason.removeprefix('bad ')}=-" for reason, _, _ in bad)
    rejects.check(max_bad, f"read on without the column ({unread})" if bad else "")
    for reason, count, lines in _tally(store, "filtered", "judged WHERE rejected IS NULL AND filtered IS NOT NULL"):
        rejects.filter(file, reason, lines, count)
    store.run(
        """
        CREATE TABLE sound AS
          SELECT "order", item, min(time) AS time, min(line) AS line, min(place) AS place,
            min(customer) AS customer
          FROM judged WHERE rejected IS NULL AND filtered IS NULL GROUP BY ALL;
        CREATE TABLE all_orders AS
          SELECT "order", min(time) AS time, count(*) AS size, min(customer) AS customer
          FROM sound GROUP BY ALL;
        """
    )
    large = f'sound SEMI JOIN (FROM all_orders WHERE size > {rules.max_basket}) USING ("order")'
    for reason, count, lines in _tally(store, "'large order'", large):
        rejects.filter(file, reason, lines, count)
    store.run(
        f"""
        CREATE TABLE orders AS SELECT "order", time, customer, size::INTEGER AS size,
            (row_number() OVER (ORDER BY time NULLS FIRST, "order") - 1)::INTEGER AS o
          FROM all_orders WHERE size <= {rules.max_basket};
        CREATE TABLE order_items AS SELECT o, item, place FROM sound JOIN orders USING ("order");
        DROP TABLE judged; DROP TABLE sound; DROP TABLE all_orders;
        """
    )
    if not store.value("SELECT count(*) FROM orders"):
        raise InputError(f"{file}: no order is left after the rules (docs/data.md lists them)")


def _tally(store: Store, reason: str, where: str) -> list[tuple[str, int, list[int]]]:
    sql = f"SELECT {reason} AS reason, count(*), min(line, {FIRST}) FROM {where} GROUP BY 1 ORDER BY 1"
    return [(name, count, lines) for name, count, lines in store.rows(sql)]


def split_orders(store: Store, seed: int) -> str:
    """Give every order a stage, 70/20/10: by time where there is time, at random where not. Says which."""
    temporal = bool(store.value("SELECT count(time) FROM orders"))
    # Drawn from the order's id, not its place: the order of untimed lines means nothing.
    store.run(
        f"""
        ALTER TABLE orders ADD COLUMN number UBIGINT;
        UPDATE orders SET number = md5_number_lower('{seed}:hide:' || "order");
        """
    )
    by = "o" if temporal else f"""md5_number_lower('{seed}:split:' || "order"), o"""
    store.run(
        f"""
        CREATE TABLE order_stage AS SELECT o,
          CASE WHEN place < round(0.7 * total) THEN 0 WHEN place < round(0.9 * total) THEN 1 ELSE 2 END AS stage
          FROM (SELECT o, row_number() OVER (ORDER BY {by}) - 1 AS place, count(*) OVER () AS total FROM orders)
        """
    )
    return "temporal" if temporal else "random"


def count_customers(store: Store) -> None:
    """The customers of the training orders are the users of user-based baselines."""
    store.run(
        """
        INSERT INTO raw_interactions BY NAME
          SELECT customer AS user, item, time::VARCHAR AS time, 0 AS line
          FROM order_items JOIN orders USING (o) JOIN order_stage USING (o) WHERE stage = 0 AND customer IS NOT NULL
        """
    )


def link_orders(store: Store, rules: OrderRules, members: str, relation: Relation) -> None:
    """Add the links among `members`, a query of (o, item) rows, to the table raw_links."""
    store.run(
        f"""
        CREATE TABLE member_codes AS
          SELECT item, (row_number() OVER (ORDER BY item) - 1)::INTEGER AS code, count(*) AS orders
          FROM ({members}) GROUP BY item;
        CREATE TABLE member_rows AS SELECT o, code FROM ({members}) JOIN member_codes USING (item);
        CREATE TABLE pairs AS SELECT a.code AS i, b.code AS j, count(*) AS n_ij
          FROM member_rows a JOIN member_rows b ON a.o = b.o AND a.code < b.code
          GROUP BY ALL HAVING count(*) >= {rules.min_support};
        """
    )
    total = store.value("SELECT count(DISTINCT o) FROM member_rows")
    store.run(
        f"""
        CREATE MACRO xlogx(x) AS CASE WHEN x > 0 THEN x * ln(x) ELSE 0 END;
        INSERT INTO raw_links BY NAME
        WITH counted AS (
          SELECT i, j, n_ij::DOUBLE AS n_ij, a.orders::DOUBLE AS n_i, b.orders::DOUBLE AS n_j, {total}::DOUBLE AS n
          FROM pairs JOIN member_codes a ON a.code = i JOIN member_codes b ON b.code = j
        ), tested AS (
          SELECT *, 2 * (xlogx(n_ij) + xlogx(n_i - n_ij) + xlogx(n_j - n_ij) + xlogx(n - n_i - n_j + n_ij)
            - xlogx(n_i) - xlogx(n_j) - xlogx(n - n_i) - xlogx(n - n_j) + xlogx(n)) AS llr
          FROM counted WHERE n_ij * n > n_i * n_j
        ), directed AS (
          SELECT i AS s, j AS t, n_ij / n_i AS p, llr FROM tested WHERE llr >= {rules.min_llr}
          UNION ALL SELECT j, i, n_ij / n_j, llr FROM tested WHERE llr >= {rules.min_llr}
        )
        SELECT a.item AS source, b.item AS target, {int(relation)} AS relation, p AS weight, 0 AS line
        FROM directed JOIN member_codes a ON a.code = s JOIN member_codes b ON b.code = t
        WHERE p >= {rules.min_confidence}
        QUALIFY row_number() OVER (PARTITION BY s ORDER BY p DESC, llr DESC, t) <= {rules.top_links};
        DROP MACRO xlogx; DROP TABLE pairs; DROP TABLE member_rows; DROP TABLE member_codes;
        """
    )
