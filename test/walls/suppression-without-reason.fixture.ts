// at: src/agent/planted-suppression.ts
// rule: suppression-reason
// oxlint-disable-next-line no-console
export const planted = (): void => console.log('x');
