// at: src/operator/planted-left.ts
// rule: one-meaning
export type PlantedName = { asked: string };
