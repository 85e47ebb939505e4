// at: src/kube/planted-cast.ts
// rule: casts
export const planted = (value: string): never => value as never;
