"""systemd's commands, played by the test."""

from collections.abc import Sequence

from wikimem.user_manager import Ran

DONE = Ran(0, "", "")


class Commands:
    """Answers commands by the words that they hold; remembers what was asked."""

    def __init__(self, answers: dict[str, Ran], otherwise: Ran = DONE) -> None:
        self.answers = answers
        self.otherwise = otherwise
        self.asked: list[str] = []

    def __call__(self, command: Sequence[str]) -> Ran:
        line = " ".join(command)
        self.asked.append(line)
        return next((answer for words, answer in self.answers.items() if words in line), self.otherwise)
