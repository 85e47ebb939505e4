// at: src/http/planted-wide.ts
// rule: comment-width
// A line of a comment that goes on and on, though nobody reads so far to the right. A line of a comment that goes on and on, though nobody reads so far to the right.
export const planted = 1;
