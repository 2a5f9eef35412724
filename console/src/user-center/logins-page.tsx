import { OwnLogins } from '../access/log-pages.tsx';
import { texts } from '../texts/texts.ts';

const words = texts.userCenter.logins;

export default function LoginsPage() {
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      <p>{words.intro}</p>
      <OwnLogins />
    </>
  );
}
