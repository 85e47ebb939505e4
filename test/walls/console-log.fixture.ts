// at: src/agent/planted-log.ts
// rule: no-console
export const planted = (): void => console.log('x');
