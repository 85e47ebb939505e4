/** Shows the parts of a text between backticks as code. */
export const renderCode = (text: string) =>
  text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
