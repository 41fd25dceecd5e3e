"""The house: one word for one thing, no pile at the root, no folder that leans on another, a true map."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("bpmn", "domain", "gateways", "persistence", "workers")
OF_A_JOB = {"Input", "Output"}
"""Each job's file names its own."""
PLACE = re.compile(r"`(\w+(?:/\w+)+\.py)(?::([\w.]+))?`")
"""A file, and what it defines, as docs/architecture.md names them."""


def product_files() -> Iterator[Path]:
    return (file for package in PRODUCT for file in sorted((ROOT / package).rglob("*.py")))


def public_classes(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return (name for name in found if not name.startswith("_") and name not in OF_A_JOB)


def imported_modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_no_public_class_name_is_defined_twice() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for file in product_files():
        for name in public_classes(file):
            homes[name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_the_root_of_workers_holds_nothing_but_its_name() -> None:
    assert [file.name for file in (ROOT / "workers").iterdir() if file.is_file()] == ["__init__.py"]


def test_no_test_folder_imports_another() -> None:
    strangers = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for module in imported_modules(file)
        if module.startswith("tests.") and not is_shared(module, file.relative_to(ROOT).parts[1])
    ]
    assert strangers == []


def is_shared(module: str, folder: str) -> bool:
    return module.split(".")[1] in (folder, "support")


def test_no_product_folder_is_in_a_cycle_with_another() -> None:
    TopologicalSorter(folder_imports()).prepare()  # a cycle is a CycleError that names it


def folder_imports() -> dict[str, set[str]]:
    """Which folder imports from which."""
    edges: defaultdict[str, set[str]] = defaultdict(set)
    for file in product_files():
        home = ".".join(file.relative_to(ROOT).parent.parts)
        for module in imported_modules(file):
            if module.split(".")[0] in PRODUCT and (there := folder_of(module)) != home:
                edges[home].add(there)
    return edges


def folder_of(imported: str) -> str:
    """The folder of what is imported: `package.module.name`, or the module itself."""
    parts = imported.split(".")
    while not (ROOT / Path(*parts)).is_dir():
        parts.pop()
    return ".".join(parts)


def test_what_the_map_names_is_there() -> None:
    places = PLACE.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert len(places) >= 10
    assert [place for place in places if not exists(*place)] == []


def exists(file: str, names: str) -> bool:
    """Whether the file is there and defines the function, class or `Class.method`."""
    path = ROOT / file
    return path.is_file() and is_defined(names, ast.parse(path.read_text(encoding="utf-8")))


def is_defined(names: str, within: ast.Module | ast.ClassDef) -> bool:
    first, _, rest = names.partition(".")
    for node in within.body:
        if isinstance(node, ast.ClassDef) and node.name == first:
            return not rest or is_defined(rest, node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == first:
            return not rest
    return not names
