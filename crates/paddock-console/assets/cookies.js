// Choices of look, kept in cookies so that the server renders them and nothing flickers.
const YEAR = 31536000;

export function remember(name, value) {
  document.cookie = `paddock_${name}=${value}; Path=/; Max-Age=${YEAR}; SameSite=Lax`;
}
