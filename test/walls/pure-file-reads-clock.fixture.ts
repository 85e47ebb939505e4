// at: src/operator/revision/desired.ts
// rule: no-restricted-properties
export const planted = (): number => Date.now();
