type Nested = (Buffer | null | Nested)[];

/**
 * Parses an array of `bytea` as Postgres prints it: `{{"\\\\x6869",NULL},{...}}`. pg's own parser goes through it
 * character by character, which for the messages of a long thread costs more than the rest of a run.
 */
export function parseByteaArray(text: string): Nested {
  const stack: Nested[] = [[]];
  for (const token of text.match(/[{}]|NULL|\\x[0-9a-f]*/g) ?? []) {
    if (token === '{') stack.push([]);
    else if (token === '}') stack.at(-2)!.push(stack.pop()!);
    else stack.at(-1)!.push(token === 'NULL' ? null : Buffer.from(token.slice(2), 'hex'));
  }
  return stack[0]![0] as Nested;
}
