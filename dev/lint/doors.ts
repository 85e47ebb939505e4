import { visitImports, getLintedFile, isWithin } from './imports.ts';
import type { Rule } from './rule.ts';

/** By package or folder: the folders and files that may import it. */
type Doors = Record<string, string[]>;

/** One door per effect: a package, or a folder of ours, is imported only where the table says so. */
export const doors: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const [table] = context.options as [Doors];
    const file = getLintedFile(context);
    return visitImports(context, ({ node, target }) => {
      for (const [thing, users] of Object.entries(table)) {
        if (!isWithin(target, thing) || isWithin(file, thing)) continue;
        if (users.some((user) => isWithin(file, user))) continue;
        context.report({
          node,
          message: `${thing} is imported only by ${users.join(', ') || 'nothing'}`,
        });
      }
    });
  },
};
