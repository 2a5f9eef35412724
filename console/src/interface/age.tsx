import { useEffect, useState } from 'react';
import { formatAge, formatDate } from '../texts/texts.ts';

const refreshMs = 10_000;

/** How long ago something was, with the moment itself as its title. */
export function Age({ timestamp }: { timestamp: string }) {
  const now = useNow();
  return (
    <time dateTime={timestamp} title={formatDate(timestamp)}>
      {formatAge(timestamp, now)}
    </time>
  );
}

/** The present moment in milliseconds, every ten seconds. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), refreshMs);
    return () => clearInterval(timer);
  }, []);
  return now;
}
