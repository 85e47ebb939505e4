"""Writes the versions and hashes of poetry.lock or pdm.lock into a file of constraints."""

import sys
import tomllib
from collections import Counter

with open(sys.argv[1], "rb") as file:
    lock = tomllib.load(file)



def is_of_index(package: dict) -> bool:
    """Returns whether it comes from an index, and not from a repository or a folder."""
    return not {"git", "url", "path"} & package.keys() and package.get("source", {}).get("type", "legacy") == "legacy"


packages = [each for each in lock.get("package", []) if is_of_index(each)]
times = Counter(each["name"].lower() for each in packages)
# Older files of Poetry have all hashes in one place.
elsewhere = lock.get("metadata", {}).get("files", {})
constraints = []
for each in packages:
    # A package in two versions has markers that say which one is for whom. The resolver chooses again.
    if times[each["name"].lower()] > 1:
        continue
    hashes = [part["hash"] for part in each.get("files") or elsewhere.get(each["name"], [])]
    constraints.append(" ".join([f"{each['name']}=={each['version']}", *(f"--hash={value}" for value in hashes)]))

with open(sys.argv[2], "w") as file:
    file.write("\n".join(constraints) + "\n")
