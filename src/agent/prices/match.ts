/* The rules by which a table of prices finds a name. Letters count as small ones, but in a pattern. */

export type Match =
  | { or: Match[] }
  | { and: Match[] }
  | { equals: string }
  | { starts_with: string }
  | { ends_with: string }
  | { contains: string }
  | { regex: string };

/** Returns whether a name matches. */
export function matchText(match: Match, text: string): boolean {
  if ('or' in match) return match.or.some((one) => matchText(one, text));
  if ('and' in match) return match.and.every((one) => matchText(one, text));
  if ('regex' in match) return new RegExp(match.regex).test(text);
  const small = text.toLowerCase();
  if ('equals' in match) return small === match.equals.toLowerCase();
  if ('starts_with' in match) return small.startsWith(match.starts_with.toLowerCase());
  if ('ends_with' in match) return small.endsWith(match.ends_with.toLowerCase());
  return small.includes(match.contains.toLowerCase());
}
