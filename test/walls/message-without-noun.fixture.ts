// at: src/control-plane/planted-message-clause.ts
// rule: words
export const planted = (name: string): string => `${name} does not hold what is asked for.`;
