import { visitImports, getLintedFile, isWithin } from './imports.ts';
import type { Node, Rule } from './rule.ts';

/** By module: the names by which a program asks others. */
const CLIENTS: Record<string, readonly string[]> = {
  'node:http': ['request', 'get', 'Agent', 'globalAgent', 'default'],
  'node:https': ['request', 'get', 'Agent', 'globalAgent', 'default'],
  undici: ['*'],
};

/**
 * Requests to others go through the proxy of the settings, by `src/http/outgoing/checked-request.ts`. The table names
 * the other files that ask, each for a reason: those that ask within the cluster, and those whose pods have the proxy
 * as variables.
 */
export const outgoing: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const [table] = context.options as [string[]];
    const file = getLintedFile(context);
    if (table.some((place) => isWithin(file, place))) return {};
    const report = (node: Node, what: string): void =>
      context.report({
        node,
        message: `${what} asks past settings.proxy: use answerTo of src/http/outgoing/checked-request.ts.`,
      });
    const seen = visitImports(context, ({ node, target, isType, names }) => {
      const clients = CLIENTS[target];
      if (clients === undefined || isType) return;
      const specifiers = (node.specifiers ?? []) as Node[];
      const used = names.filter((_name, at) => specifiers[at]?.importKind !== 'type');
      const isWhole = specifiers.some(({ type }) => type !== 'ImportSpecifier');
      if (isWhole || clients.includes('*') || used.some((name) => clients.includes(name)))
        report(node, target);
    });
    return {
      ...seen,
      CallExpression(node) {
        const callee = node.callee as Node;
        if (callee.type === 'Identifier' && callee.name === 'fetch') report(node, 'fetch');
      },
    };
  },
};
