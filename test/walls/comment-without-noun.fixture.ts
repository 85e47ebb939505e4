// at: src/http/planted-clause.ts
// rule: words
/*
 * Counts the bytes of
 * what is kept.
 */
export const planted = 1;
