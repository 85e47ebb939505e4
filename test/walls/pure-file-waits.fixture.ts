// at: src/operator/revision/objects/planted.ts
// rule: pure
export const planted = async (): Promise<number> => 1;
