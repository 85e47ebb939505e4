/** Returns the name that is meant by one that is misspelt; undefined where none is near. */
export function findNearestName(given: string, names: Iterable<string>): string | undefined {
  const counted = [...names].map((name) => ({
    name,
    changes: countChanges(given.toLowerCase(), name.toLowerCase()),
  }));
  const [best] = counted.toSorted((one, other) => one.changes - other.changes);
  return best !== undefined && best.changes <= Math.max(1, Math.floor(given.length / 3))
    ? best.name
    : undefined;
}

/** Returns the question that ends a sentence about a misspelt name, or nothing where no name is near. */
export function describeNearestName(given: string, names: Iterable<string>): string {
  const nearest = findNearestName(given, names);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}

/** Returns how many letters must be changed, added, removed or swapped to make one word the other. */
function countChanges(one: string, other: string): number {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped =
        i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const changed = Math.min(
        rows[i - 1]![j]! + 1,
        row[j - 1]! + 1,
        rows[i - 1]![j - 1]! + (isSame ? 0 : 1),
      );
      row.push(isSwapped ? Math.min(changed, rows[i - 2]![j - 2]! + 1) : changed);
    }
    rows.push(row);
  }
  return rows[one.length]![other.length]!;
}
