import { useStreamContext } from '@langchain/langgraph-sdk/react-ui';
import { weatherWord } from 'words';
import './ui.css';

const Weather = ({ city }: { city: string }) => {
  const { meta } = useStreamContext();
  return (
    <p className="weather">
      {weatherWord} in {city}, says {String(meta)}
    </p>
  );
};

export default { weather: Weather };
