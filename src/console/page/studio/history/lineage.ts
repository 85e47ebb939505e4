/** Returns the ids of a checkpoint and of those before it, the newest first. */
export function listLineage(
  checkpoints: readonly { id: string; parent: string }[],
  from: string,
): string[] {
  const parents = new Map(checkpoints.map(({ id, parent }) => [id, parent]));
  const found: string[] = [];
  for (
    let at: string | undefined = from;
    at !== undefined && at !== '' && !found.includes(at);
    at = parents.get(at)
  )
    found.push(at);
  return found;
}
