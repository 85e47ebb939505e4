// at: src/http/planted-told.ts
// rule: words
/** Is told of each request. */
export const planted = 1;
