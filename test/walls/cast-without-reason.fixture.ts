// at: src/http/planted-cast.ts
// rule: casts

export const planted = (value: string): number => value as unknown as number;
