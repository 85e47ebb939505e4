import { getLintedFile, isWithin } from './imports.ts';
import type { Node, Rule } from './rule.ts';

/** A program that opens a session in a database, as a shell starts it: with options, or an address. */
const STARTED =
  /\b(?:psql|pg_dump|pg_dumpall|pg_restore|createdb|dropdb|vacuumdb|reindexdb)\s+(?:-|["'$])/;

/**
 * A session of the platform in a tenant's database is made at one door, which sets where the session looks: a
 * session that looks into the tenant's schemas calls the tenant's functions.
 */
export const sessions: Rule = {
  meta: { type: 'problem', schema: false },
  create(context) {
    const [door] = context.options as [string];
    if (isWithin(getLintedFile(context), door)) return {};
    const check = (node: Node, text: unknown): void => {
      if (typeof text === 'string' && STARTED.test(text))
        context.report({
          node,
          message: `A session in a database is made by ${door}, which sets its search_path`,
        });
    };
    return {
      Literal: (node) => check(node, node['value']),
      TemplateElement: (node) => check(node, (node['value'] as { raw?: string }).raw),
    };
  },
};
