import { matchesGlob } from 'node:path';
import { visitImports, getLintedFile, isWithin } from './imports.ts';
import type { Node, Rule } from './rule.ts';

/**
 * `files` are globs of pure files, `thin` those among them that are not pure. `uses` lists the modules that pure files
 * may import besides each other.
 */
type Options = { files: string[]; thin: string[]; uses: string[] };

const EFFECTS = new Set([
  'process',
  'performance',
  'fetch',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'console',
]);
const RANDOM = new Set(['randomBytes', 'randomUUID', 'randomInt', 'getRandomValues', 'webcrypto']);

/**
 * A pure file takes values and returns values. It has no clock, no randomness, no process and nothing to wait for, and
 * imports only pure files.
 */
export const pure: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const [{ files, thin, uses }] = context.options as [Options];
    const isOneOf = (globs: string[], path: string): boolean =>
      globs.some((glob) => matchesGlob(path, glob));
    const isPure = (path: string): boolean => isOneOf(files, path) && !isOneOf(thin, path);
    if (!isPure(getLintedFile(context))) return {};
    const report = (node: Node, what: string): void =>
      context.report({ node, message: `A pure file ${what}` });
    const checkAsync = (node: Node): void => {
      if (node.async === true) report(node, 'waits for nothing: no async function.');
    };
    return {
      ...visitImports(context, ({ node, target, isType, names }) => {
        const isAllowed = isType || isPure(target) || uses.some((place) => isWithin(target, place));
        if (!isAllowed) report(node, `imports only pure files: ${target} is none.`);
        if (names.some((name) => RANDOM.has(name)))
          report(node, 'takes random values as arguments.');
      }),
      Identifier(node) {
        if (EFFECTS.has(node.name as string) && isReference(node))
          report(node, `does not use ${node.name as string}.`);
      },
      NewExpression(node) {
        const isNow =
          (node.callee as Node).name === 'Date' && (node.arguments as Node[]).length === 0;
        if (isNow) report(node, 'takes the time as an argument.');
      },
      MemberExpression(node) {
        const name = `${String((node.object as Node).name)}.${String((node.property as Node).name)}`;
        if (name === 'Date.now') report(node, 'takes the time as an argument.');
        if (name === 'Math.random') report(node, 'takes random values as arguments.');
      },
      FunctionDeclaration: checkAsync,
      FunctionExpression: checkAsync,
      ArrowFunctionExpression: checkAsync,
    };
  },
};

/**
 * Returns true for a name that stands for a value, and not for a key, a field of something else or a part of a type.
 */
function isReference(node: Node): boolean {
  const { parent } = node;
  if (parent === undefined || parent.type.startsWith('TS')) return false;
  const isField =
    parent.type === 'MemberExpression' && parent.property === node && parent.computed !== true;
  const isKey =
    (parent.type === 'Property' || parent.type === 'PropertyDefinition') &&
    parent.key === node &&
    parent.computed !== true;
  return !isField && !(isKey && parent.value !== node);
}
