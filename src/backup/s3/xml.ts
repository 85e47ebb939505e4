const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const decodeEntities = (text: string): string =>
  text.replace(/&(#x?[0-9a-f]+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return NAMED[name] ?? whole;
    return String.fromCodePoint(
      name[1] === 'x' ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10),
    );
  });

/** Returns the contents of all elements of this name in an answer of S3. Such elements never hold their like. */
export const listXmlElements = (body: string, name: string): string[] =>
  [...body.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, inner = '']) => inner,
  );

/** Returns the text of the first element of this name. */
export function readXmlText(body: string, name: string): string | undefined {
  const [first] = listXmlElements(body, name);
  return first === undefined ? undefined : decodeEntities(first);
}
