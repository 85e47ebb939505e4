// at: src/gateway/planted-name.ts
// rule: words
export const plantedFigures = 1;
