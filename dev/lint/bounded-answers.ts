import { getLintedFile, isWithin } from './imports.ts';
import type { Node, Rule } from './rule.ts';

/** The folders of processes that serve several tenants, and the files in them that read no answers of others. */
type Places = { folders: string[]; except: string[] };

const READS = new Set(['json', 'text', 'arrayBuffer', 'blob', 'bytes']);
const CONSUMERS = ['node:stream/consumers', 'stream/consumers'];

/**
 * A process that serves several tenants reads an answer with a limit, by `src/http/bodies/bounded-answer.ts`: methods
 * such as `json()`, and the consumers of Node's streams, read whatever comes.
 */
export const boundedAnswers: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const [{ folders, except }] = context.options as [Places];
    const file = getLintedFile(context);
    if (
      !folders.some((folder) => isWithin(file, folder)) ||
      except.some((one) => isWithin(file, one))
    )
      return {};
    const report = (node: Node, what: string): void =>
      context.report({
        node,
        message: `${what} reads answers of any size: use src/http/bodies/bounded-answer.ts.`,
      });
    return {
      CallExpression(node) {
        const { callee, arguments: given } = node as Node & { callee: Node; arguments: Node[] };
        const name = (callee.property as Node | undefined)?.name as string;
        if (callee.type === 'MemberExpression' && given.length === 0 && READS.has(name))
          report(node, `${name}()`);
      },
      ImportDeclaration(node) {
        const source = (node.source as Node).value as string;
        if (CONSUMERS.includes(source)) report(node, source);
      },
    };
  },
};
