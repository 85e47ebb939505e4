// at: src/http/planted-let.ts
// rule: module-state
let planted = 0;
export const next = (): number => (planted += 1);
