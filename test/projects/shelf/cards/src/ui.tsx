const Card = ({ title }: { title: string }) => <section>{title}</section>;

export default { card: Card };
