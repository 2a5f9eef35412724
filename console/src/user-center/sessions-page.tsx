import { OwnSessions } from '../access/own-sessions.tsx';

export default function SessionsPage() {
  return <OwnSessions level={1} />;
}
