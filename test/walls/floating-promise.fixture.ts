// at: src/agent/planted-promise.ts
// rule: no-floating-promises
const work = async (): Promise<void> => undefined;
export const planted = (): void => {
  work();
};
