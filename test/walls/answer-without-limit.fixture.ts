// at: src/operator/planted-answer.ts
// rule: bounded-answers
export const planted = async (): Promise<unknown> => (await fetch('http://127.0.0.1')).json();
