/** Lines around a difference that are the same. */
const AROUND = 2;

type Line = { sign: ' ' | '-' | '+'; text: string; kind: string };

/**
 * Returns the difference of two lists of objects in YAML, as `diff -u` prints one: each group of lines begins with the
 * kind of its object in place of a number, which would move with every line before it.
 */
export function formatDifference(before: string, after: string): string {
  const lines = compareLines(before.split('\n'), after.split('\n'));
  const isNear = (at: number): boolean =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ sign }) => sign !== ' ');
  const shown = lines.flatMap(({ sign, text, kind }, at) => {
    if (!isNear(at)) return [];
    const head = at > 0 && isNear(at - 1) ? [] : [`@@ ${kind}`];
    return [...head, `${sign}${text}`];
  });
  return `${shown.join('\n')}\n`;
}

/** Pairs as many equal lines as can be paired in order. */
function compareLines(before: string[], after: string[]): Line[] {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const getLength = (at: number, other: number): number => lengths[at * width + other] ?? 0;
  for (let at = before.length - 1; at >= 0; at -= 1)
    for (let other = after.length - 1; other >= 0; other -= 1)
      lengths[at * width + other] =
        before[at] === after[other]
          ? getLength(at + 1, other + 1) + 1
          : Math.max(getLength(at + 1, other), getLength(at, other + 1));
  const found: Line[] = [];
  let kind = '';
  const add = (sign: Line['sign'], text = ''): void => {
    kind = /^kind: (.*)/.exec(text)?.[1] ?? kind;
    found.push({ sign, text, kind });
  };
  let [at, other] = [0, 0];
  while (at < before.length || other < after.length) {
    if (at < before.length && before[at] === after[other]) {
      add(' ', before[at]);
      at += 1;
      other += 1;
    } else if (
      other >= after.length ||
      (at < before.length && getLength(at + 1, other) >= getLength(at, other + 1))
    ) {
      add('-', before[at]);
      at += 1;
    } else {
      add('+', after[other]);
      other += 1;
    }
  }
  return found;
}
