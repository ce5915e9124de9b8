@echo off
rem Puts the deliverables into submission.zip, without folders: collect_submission.bat [--allow-missing]
py "%~dp0src\collect.py" %*
if %errorlevel% equ 9009 python "%~dp0src\collect.py" %*
