"""How a family of operators is declared: rows, structured operators, what must hold where several values are right."""
