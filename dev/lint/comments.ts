import type { Rule } from './rule.ts';

const SUPPRESSION =
  /(?:oxlint|eslint)-disable|@ts-(?:expect-error|ignore|nocheck)|(?:oxfmt|prettier)-ignore|knip-ignore|v8 ignore/;
const REASON = / -- \S.{7,}/;

/** A suppression of any tool says why: `// oxlint-disable-next-line rule -- reason`. */
export const suppressionReason: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    return {
      Program() {
        for (const { value, loc } of context.sourceCode.getAllComments())
          if (SUPPRESSION.test(value) && !REASON.test(value))
            context.report({ loc, message: 'A suppression says why: ` -- reason`.' });
      },
    };
  },
};

/** Lines of comments are at most `max` columns wide. One with an address may be wider. */
export const commentWidth: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const [{ max }] = context.options as [{ max: number }];
    const { lines } = context.sourceCode;
    return {
      Program() {
        for (const { loc } of context.sourceCode.getAllComments())
          for (let line = loc.start.line; line <= loc.end.line; line += 1) {
            const text = lines[line - 1] ?? '';
            const isCode = line === loc.start.line && text.slice(0, loc.start.column).trim() !== '';
            if (isCode || text.length <= max || text.includes('://') || text.includes('-disable'))
              continue;
            const at = { start: { line, column: max }, end: { line, column: text.length } };
            context.report({
              loc: at,
              message: `This line of a comment has ${text.length} columns; at most ${max}.`,
            });
          }
      },
    };
  },
};
