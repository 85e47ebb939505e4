import { globSync, readFileSync } from 'node:fs';
import { ts } from '@ts-morph/common';

/* Finds statements that lock so many rows, in the sources of the agent server. */

/** `isSafe`: no plan can choose rows again, because the statement is no part of another, or a materialized CTE. */
export type LimitedLock = { file: string; sql: string; isSafe: boolean };

const LOCKS = /\bfor\s+(?:no\s+key\s+update|update|key\s+share|share)\b/gi;

/** Returns where the parenthesis is that encloses `at`, looking back (-1) or forward (1); undefined at the outside. */
function enclosing(text: string, at: number, step: 1 | -1): number | undefined {
  const [inwards, outwards] = step === 1 ? ['(', ')'] : [')', '('];
  let depth = 0;
  for (let index = at; index >= 0 && index < text.length; index += step) {
    if (text[index] === inwards) depth += 1;
    else if (text[index] === outwards && (depth -= 1) < 0) return index;
  }
  return undefined;
}

/**
 * Returns what locks a limited number of rows in one literal of a source. `isStatement`: nothing is put around it. A
 * lock that stands apart from its select counts as limited and unsafe, because nobody sees what it is put into.
 */
export function limitedLocks(
  literal: string,
  { file, isStatement }: { file: string; isStatement: boolean },
): LimitedLock[] {
  return [...literal.matchAll(LOCKS)].flatMap(({ index }) => {
    const start = enclosing(literal, index, -1);
    const sql = literal.slice((start ?? 0) + 1, enclosing(literal, index, 1) ?? -1).trim();
    if (start === undefined && isStatement)
      return /\blimit\b/i.test(sql) ? [{ file, sql, isSafe: true }] : [];
    if (!/\bselect\b/i.test(sql)) return [{ file, sql, isSafe: false }];
    if (!/\blimit\b/i.test(sql)) return [];
    return [
      {
        file,
        sql,
        isSafe: start !== undefined && /\bas\s+materialized\s*$/i.test(literal.slice(0, start)),
      },
    ];
  });
}

const isText = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

/** Returns what locks a limited number of rows in one source. */
function inSource(file: string): LimitedLock[] {
  const found: LimitedLock[] = [];
  const visit = (node: ts.Node): void => {
    if (!isText(node)) return ts.forEachChild(node, visit);
    const { parent } = node;
    const isStatement = ts.isPropertyAssignment(parent) && parent.name.getText() === 'text';
    found.push(...limitedLocks(node.getText(), { file, isStatement }));
  };
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
  return found;
}

/** Returns every statement of the agent server that locks a limited number of rows, by file. */
export const allLimitedLocks = (): LimitedLock[] =>
  globSync('src/agent/**/*.ts').toSorted().flatMap(inSource);
