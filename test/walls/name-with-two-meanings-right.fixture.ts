// at: src/agent/planted-right.ts
// rule: one-meaning
export const PlantedName = 'done';
