// at: src/control-plane/git/planted-question.ts
// rule: outgoing
export const planted = async (): Promise<number> => (await fetch('https://git.example')).status;
