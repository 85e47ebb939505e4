// at: src/operator/deployment/planted.ts
// rule: no-restricted-globals
export const planted = (): void => {
  setTimeout(() => undefined, 1000);
};
