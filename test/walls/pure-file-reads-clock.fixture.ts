// at: src/operator/revision/desired.ts
// rule: pure
export const planted = (): number => Date.now();
