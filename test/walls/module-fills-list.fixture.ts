// at: src/config/planted-list.ts
// rule: module-state
const planted = ['a'];
export const grow = (): number => planted.push('b');
