import type { Node, Rule } from './rule.ts';

/**
 * A cast through `unknown` is a hole in the types, so a comment on its own line or the one above says why. `as never`
 * is refused.
 */
export const casts: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const { sourceCode } = context;
    return {
      TSAsExpression(node) {
        const inner = node.expression as Node;
        if ((node.typeAnnotation as Node).type === 'TSNeverKeyword')
          context.report({ node, message: '`as never` hides the type of the value.' });
        const isDouble =
          inner.type === 'TSAsExpression' &&
          (inner.typeAnnotation as Node).type === 'TSUnknownKeyword';
        if (!isDouble) return;
        const { line } = node.loc.end;
        const first = node.loc.start.line;
        const isExplained = sourceCode
          .getAllComments()
          .some(
            ({ type, loc }) =>
              type === 'Line' && loc.end.line >= first - 1 && loc.start.line <= line,
          );
        if (!isExplained)
          context.report({
            node,
            message: '`as unknown as` needs its reason in a comment on its line or above.',
          });
      },
    };
  },
};
