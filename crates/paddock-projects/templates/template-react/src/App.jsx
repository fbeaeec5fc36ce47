import { useState } from "react";

export default function App() {
  const [count, setCount] = useState(0);

  return (
    <main>
      <h1>It works</h1>
      <p>
        Edit <code>src/App.jsx</code> and save: the page follows.
      </p>
      <button type="button" onClick={() => setCount((now) => now + 1)}>
        Counted {count} {count === 1 ? "time" : "times"}
      </button>
    </main>
  );
}
