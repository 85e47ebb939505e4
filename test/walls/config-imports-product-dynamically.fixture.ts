// at: src/config/planted.ts
// rule: directions
export const planted = () => import('../operator/start.ts');
