export const joined = (number, text) => `${number}. ${text}`;
