// at: src/kube/planted-map.ts
// rule: module-state
const planted = new Map<string, string>();
export const remember = (key: string, value: string) => planted.set(key, value);
