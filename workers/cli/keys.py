"""`reenvio keys list | add | rotate`: which encryption keys there are, which are needed, and new ones."""

from workers.cli.lazy import Entry, lazy_app

TABLE = {
    "list": Entry(
        "workers.cli.keys_list:list_keys",
        "The keys that are here or needed, and how much is under each; exit 1 when a needed one is missing.",
    ),
    "add": Entry(
        "workers.cli.keys_list:add",
        "Make a key, into the key file or printed for ENCRYPTION_KEYS: "
        "it can read, and encrypts nothing yet.",
    ),
    "rotate": Entry(
        "workers.cli.keys_rotate:rotate",
        "Seal everything anew with the key that encrypts, in small steps; may be interrupted and run again.",
    ),
}
keys_app = lazy_app("List, add and rotate encryption keys.", TABLE)
